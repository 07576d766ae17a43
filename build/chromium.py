"""Drives Debian's Chromium without a window, by its DevTools protocol: opens files, clicks, presses
keys, takes pictures, and keeps what the browser complains about.

CHROMIUM names another binary. The browser asks no other host for anything.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

_START_SECONDS_MAX: Final = 60
_ANSWER_SECONDS_MAX: Final = 60
_POLL_SECONDS: Final = 0.05
_FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--hide-scrollbars", "--remote-debugging-port=0"),
)
_COMPLAINS: Final = frozenset(("error", "warning", "assert"))
# Of keys that a test presses: what a page reads of them.
_KEYS: Final = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}


def chromium() -> str | None:
    """The binary, if there is one."""
    found = os.environ.get("CHROMIUM")
    return found or shutil.which("chromium") or shutil.which("google-chrome")


class Tab:
    """One page of the browser. `complaints`: errors and warnings of its console, exceptions, and
    what the Content-Security-Policy refused. `asked`: addresses that it asked for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: str = "") -> None:
        self._socket = socket
        self._session = session
        self._last = 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._events: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        while True:
            answer = await self._received()
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    async def _received(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json(timeout=_ANSWER_SECONDS_MAX)
        if "method" in message:
            self._note(message["method"], message["params"])
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Runtime.consoleAPICalled" and params["type"] in _COMPLAINS:
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in _COMPLAINS:
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    async def open(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        self._events.clear()
        await self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            await self._received()

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression in JavaScript; a promise is waited for."""
        answer = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    async def settled(self) -> None:
        """Waits until the page has drawn what it was going to."""
        frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
        await self.evaluate(f"new Promise((done) => {frames})")

    async def view(self, width: int, height: int, *, dark: bool = False, scale: int = 1) -> None:
        """The size of the window, and the colours that the person prefers; nothing moves."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def click(self, selector: str) -> None:
        """With the mouse, in the middle of the element."""
        quoted = json.dumps(selector)
        place = await self.evaluate(
            f"(() => {{ const found = document.querySelector({quoted});"
            " found.scrollIntoView({block: 'center'});"
            " const box = found.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        await self.settled()
        button = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, **button)
        await self.settled()

    async def press(self, key: str) -> None:
        code, text = _KEYS[key]
        names = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        down = {**names, "text": text} if text else names
        await self.call("Input.dispatchKeyEvent", type="keyDown", **down)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    async def picture(self, *, height_max: int) -> bytes:
        """PNG of the page from its top, as high as it is or as is asked for."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "scale": 1}
        clip["height"] = min(size["height"], height_max)
        answer = await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])


class Browser:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._own = Tab(socket)

    async def tab(self) -> Tab:
        made = await self._own.call("Target.createTarget", url="about:blank")
        attached = await self._own.call(
            "Target.attachToTarget", targetId=made["targetId"], flatten=True
        )
        return Tab(self._socket, attached["sessionId"])

    async def save_downloads(self, folder: Path) -> None:
        await self._own.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder)
        )


@contextmanager
def running(binary: str) -> Iterator[str]:
    """A browser with a profile of its own, which ends with the block: the address to connect to."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        profile = Path(name)
        process = subprocess.Popen(
            [binary, *_FLAGS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _address(profile / "DevToolsActivePort", process)
        finally:
            process.terminate()
            process.wait()


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    for _ in range(int(_START_SECONDS_MAX / _POLL_SECONDS)):
        words = file.read_text().split() if file.exists() else []
        if len(words) == 2:
            return f"ws://127.0.0.1:{words[0]}{words[1]}"
        assert process.poll() is None, f"{process.args!r} has ended"
        time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"{process.args!r} has not started")


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Browser]:
    async with (
        aiohttp.ClientSession() as session,
        # A picture of a long page has megabytes.
        session.ws_connect(address, max_msg_size=0) as socket,
    ):
        yield Browser(socket)
