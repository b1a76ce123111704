import type { LicenceLabel } from '../licence-labels.ts';
import type { CallOptions } from '../query.ts';
import type { FeedMessage } from './message.ts';
import type { FeedSource, FeedStart } from './source.ts';
/** Options of a subscription of a feed. */
export interface FeedOptions extends FeedStart, CallOptions {
}
/** What listeners of a subscription are called for. */
export type FeedEvent = 'recovered' | 'gap' | 'licence';
/**
 * Messages of a topic, or of all topics that a pattern such as `NYSE/*` chooses. It survives reconnects: where the feed has a history,
 * what was published meanwhile is sent, each message once. Of a feed that keeps the latest message, a slow loop gets the newest of each
 * topic; of one that keeps all, the server waits with the next messages, or without history the loop throws `client.slow`.
 *
 * @example
 * ```ts
 * const orders = gate.feed<Order>('Orders').subscribe('desk-7')
 * orders.on('gap', () => reload())
 * for await (const { topic, data, removed } of orders) if (!removed) show(topic, data)
 *
 * // or with React:
 * const price = useSyncExternalStore(acme.subscribe, () => acme.value)
 * ```
 */
export declare class FeedSubscription<T = unknown> implements AsyncIterable<FeedMessage<T>> {
    #private;
    /** What ended it, if anything has. */
    error: unknown;
    constructor(source: FeedSource, signal: AbortSignal | undefined);
    /** The newest data: of the topic, or with a pattern of any; undefined before the first message, and of a removed topic. */
    get value(): T | undefined;
    /** The newest data by topic. A new map after each message, the same until then. */
    get values(): ReadonlyMap<string, T>;
    /** Where a later subscription can resume; undefined if the feed has no history. */
    get position(): string | undefined;
    /** Resolves when the server has confirmed; rejects when it has refused. */
    ready(): Promise<this>;
    /** Calls the listener after each message, and at the end. Returns a function that removes the listener. */
    readonly subscribe: (listener: () => void) => (() => void);
    /** Seconds after which the licence shows messages; undefined: they are real-time. Those of a pattern may differ, see `licences`. */
    get delay(): number | undefined;
    /** Of a pattern: which topics are delayed, or left out. */
    get licences(): readonly LicenceLabel[];
    /**
     * Calls the listener after each reconnect: `recovered` if all that was missed follows, `gap` if messages are missing; and with `licence`
     * when `delay` or `licences` have changed. Returns a function that removes the listener.
     */
    on(event: FeedEvent, listener: () => void): () => void;
    /** Ends it here and on the server. `value` and `values` stay as they are. */
    close(): void;
    /** Messages from now on; of a feed that keeps the latest, first the newest. Leaving the loop does not end the subscription. */
    [Symbol.asyncIterator](): AsyncIterator<FeedMessage<T>, undefined>;
}
