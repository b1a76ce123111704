import type { Http } from '../http.ts';
import type { CallOptions } from '../query.ts';
import { type Channel, type Channels } from './channel.ts';
import { type State, type StateChange } from './protocol.ts';
import { type SubscribeOptions, Subscription } from './subscription.ts';
/** Options of a request on the stream. */
export interface StreamRequestOptions extends CallOptions {
    /** Milliseconds; 40,000 by default. */
    readonly timeout?: number | undefined;
}
/**
 * The stream of a server.
 *
 * @example
 * ```ts
 * const prices = gate.stream.subscribe<Price>('Ticker', 'Price/ACME', { slow: 'latest' })
 * for await (const price of prices) show(price)
 *
 * const info = await gate.stream.request('Platform', 'QueryServerInfo')
 * gate.stream.on('state', ({ state, reason }) => show(`${state}: ${reason}`))
 * ```
 */
export declare class Stream implements Channels {
    #private;
    readonly http: Http;
    constructor(http: Http);
    get state(): State;
    /** Calls the listener after each change of state. Returns a function that removes the listener. */
    on(_event: 'state', listener: (change: StateChange) => void): () => void;
    /** Resolves once the connection is online. All other calls connect automatically. */
    connect({ signal }?: CallOptions): Promise<void>;
    /** Sends a request and resolves with the `Data` of its reply. */
    request<T = unknown>(controller: string, topic: string, data?: unknown, options?: StreamRequestOptions): Promise<T>;
    /** Messages of a topic, until the loop is left. */
    subscribe<T = unknown>(controller: string, topic: string, options?: SubscribeOptions): Subscription<T>;
    /** Ends the connection; another request or subscription opens a new one. */
    close(): void;
    /** Opens a channel; it stays over all connections until `detach` or `onEnd`. */
    attach(channel: Channel): void;
    detach(channel: Channel): void;
}
