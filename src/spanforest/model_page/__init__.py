"""One HTML page about a fitted model and its predictions for some examples."""

from spanforest.model_page._page import make_model_page

__all__ = ["make_model_page"]
