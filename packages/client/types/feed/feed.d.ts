import type { CallOptions, WriteOptions } from '../query.ts';
import type { Stream } from '../stream/stream.ts';
import type { KeptMessage } from './message.ts';
import { FeedSource } from './source.ts';
import { type FeedOptions, FeedSubscription } from './subscription.ts';
/** A message to publish. */
export interface NewMessage<T = unknown> {
    readonly topic: string;
    /** Anything that JSON can hold; a bigint becomes a number with all its digits. */
    readonly data: T;
}
/** The reply to a publication. */
export interface Published {
    /** That of the last message; undefined if the feed has no history. */
    readonly position: string | undefined;
}
/** Options of `publishAll`. */
export interface PublishAllOptions extends WriteOptions {
    /** Called after each request. */
    readonly onProgress?: ((progress: PublishProgress) => void) | undefined;
}
/** How much `publishAll` has published. */
export interface PublishProgress {
    readonly messages: number;
    readonly requests: number;
}
/** A topic that holds messages. */
export interface FeedTopic {
    readonly topic: string;
    /** When its newest message was published. */
    readonly time: string;
    /** How many messages are kept. */
    readonly messages: number;
}
/** Options of `topics`. */
export interface TopicOptions extends CallOptions {
    /** Only topics that begin with it. */
    readonly prefix?: string | undefined;
}
/**
 * A feed by name.
 *
 * @example
 * ```ts
 * const prices = gate.feed<Price>('Prices')
 * await prices.publish('ACME', { last: '101.25' })
 * await prices.publishAll([{ topic: 'ACME', data: { last: '101.30' } }, { topic: 'BOLT', data: { last: '7.10' } }])
 * for await (const { topic, data } of prices.subscribe('*', { maxRate: 5 })) show(topic, data)
 * ```
 */
export declare class Feed<T = unknown> {
    #private;
    readonly name: string;
    /** `sources` are the subscriptions of the stream, by topic. */
    constructor(stream: Stream, sources: Map<string, FeedSource>, name: string);
    /** Messages of a topic, or of the topics of a pattern: `*`, or a prefix such as `NYSE/*`. */
    subscribe(topic: string, { maxRate, last, resume, signal }?: FeedOptions): FeedSubscription<T>;
    /** Publishes one message. A retry after a lost reply does not publish it twice. */
    publish(topic: string, data: T, options?: WriteOptions): Promise<Published>;
    /**
     * Publishes any number of messages in their order, in requests of at most 10,000 messages and 8 MiB, each of which is published or not
     * as a whole. Repeated with the same messages and the same key it continues where it ended.
     */
    publishAll(messages: Iterable<NewMessage<T>> | AsyncIterable<NewMessage<T>>, { idempotencyKey, onProgress, signal }?: PublishAllOptions): Promise<PublishProgress>;
    /** The topics that hold messages, by name. */
    topics({ prefix, signal }?: TopicOptions): AsyncGenerator<FeedTopic, void, undefined>;
    /** The newest messages of a topic or pattern, at most `count` (up to 1,000), the newest last. The feed needs a history. */
    last(topic: string, count: number, { signal }?: CallOptions): Promise<KeptMessage<T>[]>;
    /** The newest message of a topic; undefined if it holds none. */
    latest(topic: string, { signal }?: CallOptions): Promise<KeptMessage<T> | undefined>;
    /** Forgets the messages of a topic, and tells its subscribers. */
    remove(topic: string, { idempotencyKey, signal }?: WriteOptions): Promise<void>;
}
/** `gate.feed`: a feed by name. */
export type FeedByName = <T = unknown>(name: string) => Feed<T>;
/**
 * Feeds without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const feed = createFeeds(new Stream(new Http(url, { auth })))
 * await feed('Prices').publish('ACME', { last: '101.25' })
 * ```
 */
export declare function createFeeds(stream: Stream): FeedByName;
