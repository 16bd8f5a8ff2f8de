"""ES modules in one script: every form of import and export that the page uses, and that no other is let through."""

import pytest

from micro_agent.page.files import modules
from micro_agent.page.linking import NotLinked, linked

SMALL = {
    "main.js": 'import { one, two as zwei } from "./lib.js";\nimport tag from "./tag.js";\nsay(one, zwei());\n'
    'import{three}from"./again.js";const more=1;',
    "lib.js": "export const one = 1;\nexport function two() { return 2; }\nexport class K {}\n"
    "export async function* later() {}\n",
    "tag.js": "var n=1;export default function(t){return t+n}",
    "again.js": 'const a=3;export{one}from"./lib.js";export{a as three};',
}


def test_one_script_does_what_the_modules_do() -> None:
    script = linked(SMALL, "main.js")
    for name, text in {"lib.js": "one, two, K, later", "tag.js": "default: $default", "again.js": "three: a"}.items():
        assert f"$modules[{name!r}] = (() => " in script
        assert text in script
    assert "const {one: one, two: zwei} = $modules['lib.js']" in script
    assert script.index("$modules['lib.js'] =") < script.index("$modules['main.js'] =")


@pytest.mark.parametrize(
    "text",
    ['import "./x.js";', 'import * as x from "./lib.js";', "export * from './lib.js';", 'import {x} from "elsewhere";',
     'import { x } from "./missing.js";'],
)  # fmt: skip
def test_what_is_not_known_is_an_error(text: str) -> None:
    with pytest.raises(NotLinked, match=r"main\.js|missing\.js"):
        linked({**SMALL, "main.js": text}, "main.js")


@pytest.mark.parametrize("entry", ["one.js", "app.js"])
def test_the_modules_of_the_page_are_linked(entry: str) -> None:
    script = linked(modules(), entry)
    assert script.count("$modules['preact.js'] = ") == 1
    assert "sourceMappingURL" not in script
    assert "</script" not in script
    assert ("$modules['api.js'] = " in script) == (entry == "app.js")  # the one file has no way to ask a server
