"""The defaults of the configuration are those that its documentation gives."""

import ast
import inspect
import re

from glossa import GlossaConfig


def test_the_documentation_of_the_fields_has_their_defaults():
    entry = r"^    (\w+) \(`\w+`(?: or `[^`]+`)?(?:, \*optional\*)?(?:, defaults to `?(.+?)`?)?\):"
    documented = re.findall(entry, inspect.getdoc(GlossaConfig), re.M)
    defaults = {field: ast.literal_eval(default or "None") for field, default in documented}
    fields = GlossaConfig.__annotations__.keys() - {"is_encoder_decoder"}
    assert defaults == {field: GlossaConfig.__dataclass_fields__[field].default for field in fields}
