/** Where live queries are opened: on the stream or, where no WebSocket can be opened, by server-sent events. */
import type { Channel, Channels } from './channel.ts';
import type { Stream } from './stream.ts';
export declare class LiveTransport implements Channels {
    #private;
    constructor(stream: Stream);
    attach(channel: Channel): void;
    detach(channel: Channel): void;
}
