/** A subscription of a feed on the server, shared by all who ask for the same; it resumes after the last message that it took. */
import { type GatehouseError } from '../errors.ts';
import { type LicenceLabel } from '../licence-labels.ts';
import type { Channel, Channels } from '../stream/channel.ts';
import type { Message } from '../stream/protocol.ts';
import type { FeedMessage } from './message.ts';
/** Where a subscription begins, and how fast its messages come. */
export interface FeedStart {
    /** The most messages per second and topic, from 0.01 to 50, where the feed keeps the latest message: the newest wins. */
    readonly maxRate?: number | undefined;
    /** How many of the newest messages come first, up to 1,000, where the feed has a history. */
    readonly last?: number | undefined;
    /** Begins after this `position` of a message of the same topic or pattern. */
    readonly resume?: string | undefined;
}
/** One of those who share it. */
export interface Member {
    onOpen(): void;
    onMessage(message: FeedMessage): void;
    onResumed(recovered: boolean): void;
    onLicences(): void;
    onEnd(error: unknown): void;
}
export declare class FeedSource implements Channel {
    #private;
    readonly controller: string;
    readonly topic: string;
    readonly start: FeedStart;
    readonly members: Set<Member>;
    /** The newest message of each topic that has one. */
    readonly newest: Map<string, FeedMessage>;
    last: FeedMessage | undefined;
    /** `latest` or `all`, once it is confirmed. */
    keep: unknown;
    /** Where to go on; undefined if the feed has no history. */
    position: string | undefined;
    /** Seconds; undefined: real-time. */
    delay: number | undefined;
    licences: readonly LicenceLabel[];
    isOpen: boolean;
    constructor(channels: Channels, controller: string, topic: string, start: FeedStart, onClosed: (source: FeedSource) => void);
    open(): void;
    close(): void;
    data(): unknown;
    onConfirmed(data: unknown): void;
    onData(data: unknown, { Topic, Position, Removed, Recovered, Delay, Licence }?: Message): void;
    /** If the server no longer knows the position, it begins again. One that the application has given may be wrong. */
    onRefused({ code, message }: GatehouseError): boolean;
    onEnd(error: unknown): void;
    /** Nothing comes until `proceed`, and then all that was missed. */
    pause(reader: unknown): void;
    proceed(reader: unknown): void;
}
