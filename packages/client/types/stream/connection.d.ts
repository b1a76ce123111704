/** One connection over time: token, socket, authentication, renewal, heartbeat, and the way back after each loss. */
import { GatehouseError } from '../errors.ts';
import type { Http } from '../http.ts';
import { type Message, type State, type StateChange } from './protocol.ts';
/** What the connection tells those who use it. */
export interface ConnectionEvents {
    onState(change: StateChange): void;
    /** Authenticated; `isNew` after a reconnect, when nothing is subscribed to on the server. */
    onOnline(isNew: boolean): void;
    onMessage(message: Message): void;
    /** The socket is gone; there will be another. */
    onLost(error: GatehouseError): void;
    onEnded(error: GatehouseError): void;
}
export declare class Connection {
    #private;
    constructor(http: Http, events: ConnectionEvents);
    get state(): State;
    /** Starts, unless it is running. */
    open(): void;
    send(message: Message): void;
    /** For good: no attempt follows by itself. */
    end(error: GatehouseError, code?: number | string): void;
}
