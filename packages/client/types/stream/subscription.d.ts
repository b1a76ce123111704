import type { CallOptions } from '../query.ts';
import { type Channel, type Channels } from './channel.ts';
/** Options of a subscription. */
export interface SubscribeOptions extends CallOptions {
    /**
     * What happens when messages arrive faster than they are read: `error` (up to 1,000 wait, then the loop throws
     * `client.slow`) or `latest` (only the newest waits).
     */
    readonly slow?: 'error' | 'latest' | undefined;
    /** The `Data` of the Sub, where the topic takes any. */
    readonly data?: unknown;
}
/** Those of one topic share one subscription on the server. */
export interface Shared {
    readonly channel: Channel;
    readonly members: Set<Subscription<unknown>>;
    isOpen: boolean;
    last?: {
        readonly data: unknown;
    };
}
/**
 * Messages of one topic, for `for await`. It survives reconnects; messages published in between are not sent later, which
 * `onResume` reports.
 *
 * @example
 * ```ts
 * const news = gate.stream.subscribe<Headline>('News', 'Headlines')
 * news.onResume = () => reload()
 * for await (const headline of news) add(headline)
 * ```
 */
export declare class Subscription<T = unknown> implements AsyncIterable<T> {
    #private;
    readonly controller: string;
    readonly topic: string;
    /** Called after a reconnect. `recovered` is false: messages in between were missed, unless the topic sends its state. */
    onResume: ((event: {
        readonly recovered: boolean;
    }) => void) | undefined;
    /** `all` are those of the stream, by topic. */
    constructor(stream: Channels, all: Map<string, Shared>, controller: string, topic: string, { slow, data, signal }: SubscribeOptions);
    /** Resolves when the server has confirmed; rejects when it has refused. */
    ready(): Promise<void>;
    /** Ends the subscription, and the loop over it. */
    close(): void;
    [Symbol.asyncIterator](): AsyncIterator<T, undefined>;
}
