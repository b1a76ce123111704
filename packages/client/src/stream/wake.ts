/** Signs that the world has changed while a page or machine slept: back in view, back online, or offline. */

export interface Wakes {
  /** Time may have passed, or the network is back: everything that waits should try now. */
  wake(): void
  /** The network is unavailable. */
  offline(): void
}

interface Target {
  addEventListener?(type: string, listener: () => void, options: { readonly signal: AbortSignal }): void
}

/** Until the signal is aborted. Outside of browsers there is nothing to listen to. */
export function listenForWakes({ wake, offline }: Wakes, signal: AbortSignal): void {
  const page = globalThis as Target & { document?: Target & { readonly visibilityState?: string } }
  const { document } = page
  const seen = (): void => {
    if (document?.visibilityState !== 'hidden') wake()
  }
  const listeners: readonly (readonly [Target | undefined, string, () => void])[] = [
    [page, 'online', wake],
    [page, 'pageshow', wake],
    [page, 'offline', offline],
    [document, 'visibilitychange', seen],
    // Chromium thaws a frozen page.
    [document, 'resume', wake],
  ]
  for (const [target, type, listener] of listeners) target?.addEventListener?.(type, listener, { signal })
}
