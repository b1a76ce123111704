export interface QueueOptions<T> {
    /** How many values may wait; one more ends the iteration with the error `client.slow`. */
    readonly limit?: number | undefined;
    /** Makes one value of the one that waits and the new one, so that at most one waits. */
    readonly merge?: ((waiting: T, value: T) => T) | undefined;
    /** The consumer has left the loop, or the queue has overflowed. */
    readonly onLeave?: (() => void) | undefined;
}
export declare class Queue<T> implements AsyncIterableIterator<T, undefined> {
    #private;
    constructor(options?: QueueOptions<T>);
    push(value: T): void;
    /** What waits is still read; then the iteration ends, with the error if there is one. */
    end(error?: unknown): void;
    next(): Promise<IteratorResult<T, undefined>>;
    return(): Promise<IteratorResult<T, undefined>>;
    [Symbol.asyncIterator](): this;
}
