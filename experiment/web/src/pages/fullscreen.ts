/** The full screen, if the browser supports and allows it. Nothing depends on it. */

export function canGoFullscreen(): boolean {
  return document.fullscreenEnabled && document.fullscreenElement === null;
}

/** Requests the full screen; the browser allows it only right after a click or a key. */
export async function enterFullscreen(): Promise<void> {
  await document.documentElement.requestFullscreen().catch(() => {});
}

export function leaveFullscreen(): void {
  if (document.fullscreenElement) void document.exitFullscreen().catch(() => {});
}
