"""The command warm-up."""


def test_the_command_compiles_everything_and_says_how_long_it_took(ok, monkeypatch):
    monkeypatch.setattr("spanforest.warm_up", lambda: 12.3)
    assert ok("warm-up") == "compiled in 12 s\n"
