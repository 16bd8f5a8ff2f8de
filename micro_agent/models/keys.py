"""Which server may be sent ``OPENAI_API_KEY``: the one that was named for it by whoever set it, and no other."""

from micro_agent.models.addresses import OPENAI_PUBLIC_URL, origin_of
from micro_agent.models.announcing import Announce
from micro_agent.models.settings import Settings


def openai_key(base_url: str, settings: Settings, announce: Announce, *, given: bool) -> str | None:
    """The key for the server at ``base_url``; ``None`` where there is none for it.

    Args:
        base_url: Where the request goes.
        settings: Today's; a key belongs to the host of ``openai_base_url``.
        announce: Is told where a file would send a key that does not stand in it.
        given: Whether the caller named the address: then the key is meant for it.
    """
    if settings.openai_api_key is None:
        return None
    if not given and origin_of(base_url) != origin_of(settings.openai_base_url):
        return None
    if not given and (file := redirecting_file(settings)):
        announce(
            f"OPENAI_BASE_URL in {file} names {base_url}: OPENAI_API_KEY, which does not stand in that file, is not "
            f"sent there (with --base-url {base_url} it is)"
        )
        return None
    return settings.openai_api_key.get_secret_value()


def redirecting_file(settings: Settings) -> str | None:
    """The file of settings that sends a key to another host than it would go to without the file, if there is one."""
    moved = origin_of(settings.openai_base_url) != origin_of(OPENAI_PUBLIC_URL)
    return settings.file_of("openai_base_url") if moved and settings.file_of("openai_api_key") is None else None
