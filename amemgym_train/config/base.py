"""What every section of a recipe shares: unknown keys are refused, and so are numbers that are not finite."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One section of a recipe. Fields may be read but not set: a changed recipe is a new one (``model_copy``)."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)
