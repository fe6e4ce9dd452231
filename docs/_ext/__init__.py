"""Extensions of Sphinx that this documentation uses."""
