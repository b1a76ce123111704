/** Waiting: pauses that can be aborted, and the full-jitter backoff of every retry. */
/** Rejects with the reason of the signal when it is aborted. */
export declare function pause(milliseconds: number, signal?: AbortSignal): Promise<void>;
/** A promise that also ends when the signal is aborted; the work behind it goes on for others who wait for it. */
export declare function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T>;
/** Milliseconds before attempt `count` (from 0): anything up to a bound that doubles, so that clients spread out. */
export declare function backoff(count: number, base?: number, most?: number): number;
/** Does not keep a process of Node alive. */
export declare function unref(timer: unknown): void;
/** Aborted with the first of both. */
export declare function either(signal: AbortSignal | undefined, other: AbortSignal): AbortSignal;
/** A promise that others settle. If nothing awaits it, a rejection is not reported. */
export interface Deferred<T> {
    readonly promise: Promise<T>;
    resolve(value: T): void;
    reject(error: unknown): void;
}
export declare function deferred<T>(): Deferred<T>;
