"""The one error a user of AMemGym data can mend."""


class ScenarioError(ValueError):
    """A scenario, its file or a generator setting is wrong; the message names the item, the field, got versus expected."""
