/** Live queries by server-sent events: where no WebSocket can be opened, and for programs that want the messages as they are. */
import { GatehouseError } from '../errors.ts';
import { type Http, type Search } from '../http.ts';
import { type CallOptions } from '../query.ts';
import type { Channel, Channels } from './channel.ts';
/** The request, with the members of docs/live.md. */
export interface LiveRequest {
    readonly Statement: string;
    readonly Parameters?: unknown;
    readonly MaxRate?: number | undefined;
    /** A `Position` that was received: what was missed since is sent. */
    readonly Resume?: string | undefined;
}
/** Options of messages by server-sent events. */
export interface EventOptions extends CallOptions {
    /** More of the query string, as docs/query.md lists it: `{ integers: 'strings' }`. */
    readonly search?: Search | undefined;
    /** The server has accepted the statement, at first and after each loss. */
    readonly onOpen?: (() => void) | undefined;
    /** The connection was lost, or could not be opened, and another follows; unless this throws. */
    readonly onLost?: ((error: GatehouseError) => void) | undefined;
}
/**
 * The messages of a live query as the server writes them, over lost connections and expired tokens; docs/live.md describes
 * them. `Live` makes a result of them.
 *
 * @example
 * ```ts
 * for await (const text of liveMessages(gate, { Statement: 'select symbol, price from trades' })) console.log(text)
 * ```
 */
export declare function liveMessages(http: Http, { Resume, ...body }: LiveRequest, { search, onOpen, onLost, ...options }?: EventOptions): AsyncGenerator<string, void, undefined>;
/**
 * Where live queries are opened without a stream: `createLive(new LiveEvents(http), http.values)`. Each has a connection of
 * its own, of which browsers allow six to a server by HTTP/1.1.
 *
 * @example
 * ```ts
 * const http = new Http(url, { auth })
 * const live = createLive(new LiveEvents(http), http.values)
 * for await (const { put } of live`select symbol, price from prices`) show(put)
 * ```
 */
export declare class LiveEvents implements Channels {
    #private;
    constructor(http: Http, options?: Pick<EventOptions, 'search' | 'onLost'>);
    attach(channel: Channel): void;
    detach(channel: Channel): void;
}
