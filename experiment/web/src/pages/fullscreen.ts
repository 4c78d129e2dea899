/** The full screen, where the browser has one and lets us. Nothing depends on it. */

export function canGoFullscreen(): boolean {
  return document.fullscreenEnabled && document.fullscreenElement === null;
}

/** Asks for the full screen; the browser grants it only right after a click or a key. */
export async function enterFullscreen(): Promise<void> {
  await document.documentElement.requestFullscreen().catch(() => {});
}

export function leaveFullscreen(): void {
  if (document.fullscreenElement) void document.exitFullscreen().catch(() => {});
}
