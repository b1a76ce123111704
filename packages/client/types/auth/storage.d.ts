/** Where tokens are kept. */
/**
 * As `localStorage` and `sessionStorage`; the methods may also return promises, for example to use the keychain of a
 * telephone.
 */
export interface TokenStorage {
    getItem(key: string): string | null | Promise<string | null>;
    setItem(key: string, value: string): void | Promise<void>;
    removeItem(key: string): void | Promise<void>;
    /**
     * Runs `act` exclusively among all users of the storage; tokens are renewed inside. A Web Lock by default, which
     * all tabs know, but no other process.
     */
    lock?<T>(key: string, act: () => Promise<T>): Promise<T>;
}
/**
 * Keeps tokens only as long as the program or page lives.
 *
 * @example
 * ```ts
 * browser({ clientId: 'spa', storage: memory() }) // signs in again, silently, after each reload
 * ```
 */
export declare function memory(): TokenStorage;
