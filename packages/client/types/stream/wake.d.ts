/** Signs that the world has changed while a page or machine slept: back in view, back online, or offline. */
export interface Wakes {
    /** Time may have passed, or the network is back: everything that waits should try now. */
    wake(): void;
    /** The network is gone. */
    offline(): void;
}
/** Until the signal is aborted. Outside of browsers there is nothing to listen to. */
export declare function listenForWakes({ wake, offline }: Wakes, signal: AbortSignal): void;
