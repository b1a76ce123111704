import { type LicenceLabel } from '../licence-labels.ts';
import type { CallOptions, Row } from '../query.ts';
import { type Part, type Statement } from '../statement.ts';
import type { Column, Values } from '../values.ts';
import type { Channels } from './channel.ts';
/** Options of a live query. */
export interface LiveOptions extends CallOptions {
    /** The most changes per second, from 1 to 50; 20 by default. */
    readonly maxRate?: number | undefined;
}
/** What has happened since the change before. A slow reader gets several in one. */
export interface LiveChange<R> {
    /** Rows that are new or different. */
    readonly put: readonly R[];
    /** Removed rows: the same objects that were put. */
    readonly remove: readonly R[];
    /** For each row in `put` that was there: the row that it replaces. */
    readonly before: ReadonlyMap<R, R>;
    /** The whole result was sent: `put` is all of it. */
    readonly snapshot: boolean;
    /** Why the server sent the whole result again, if it did: `Rights`, `Definition`, `Lost`, `Expired` or `Overflow`. */
    readonly reason: string | undefined;
    /** After a reconnect: true if all missed changes were sent, false if a new snapshot was. */
    readonly recovered: boolean | undefined;
}
/**
 * The result of a statement, kept up to date.
 *
 * @example
 * ```ts
 * const live = gate.live<Trade>`select * from trades where symbol = ${symbol}`
 * for await (const { put, remove } of live) draw(live.rows)
 *
 * // or with React:
 * const rows = useSyncExternalStore(live.subscribe, () => live.rows)
 * ```
 */
export declare class Live<R = Row> implements AsyncIterable<LiveChange<R>> {
    #private;
    /** What ended it, if anything has. */
    error: unknown;
    /** The columns, once the first result is here. */
    columns: readonly Column[];
    /** How the server keeps it up to date, once the first result is here: `keys`, `rerun` or `clock`. */
    method: string | undefined;
    /** What is delayed, or left out; nothing: all rows are here, as they are now. */
    licences: readonly LicenceLabel[];
    /** The delayed rows are as of this time. */
    asOf: string | undefined;
    constructor(channels: Channels, values: Values, statement: Statement, { maxRate, signal }?: LiveOptions);
    /** The current result, in the order of the statement. A new array after each change, the same until then. */
    get rows(): readonly R[];
    /** Identifies a row as long as it is in the result; the row that replaces it has the same value. */
    keyOf(row: R): string | undefined;
    /** Resolves when the first result is here; rejects when the statement is refused. */
    ready(): Promise<this>;
    /** Calls the listener after each change, and at the end. Returns a function that removes the listener. */
    readonly subscribe: (listener: () => void) => (() => void);
    /** Ends it here and on the server. `rows` stay as they are. */
    close(): void;
    /** Changes from now on; the first is the result as it is. Leaving the loop does not end the live query. */
    [Symbol.asyncIterator](): AsyncGenerator<LiveChange<R>, void, undefined>;
}
/** `gate.live`: a tag for statements. */
export interface LiveTag {
    <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]): Live<R>;
    <R = Row>(statement: Statement, options?: LiveOptions): Live<R>;
    (options: LiveOptions): <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]) => Live<R>;
}
/**
 * The tag `live` without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const http = new Http(url, { auth })
 * const live = createLive(new Stream(http), http.values)
 * const prices = live({ maxRate: 5 })`select symbol, price from prices`
 * ```
 */
export declare function createLive(channels: Channels, values: Values): LiveTag;
