/** Calls on a table that need no statement: select, insert, update, delete, and uploads in pieces. */
import { type Http } from './http.ts';
import { type CallOptions, type Result, type Row, type WriteOptions } from './query.ts';
/** One condition as the service takes it; see docs/query.md for the operators. */
export type Criterion = {
    readonly ColumnName: string;
    readonly Operator: string;
    readonly Value?: unknown;
} | {
    readonly Or: readonly Criterion[];
} | {
    readonly And: readonly Criterion[];
} | {
    readonly Not: Criterion;
};
/**
 * Conditions by column, which must all be true: a value, a list of values, or operators with values. Or a list of
 * criteria, for `Or` and `Not`.
 *
 * @example
 * ```ts
 * const where: Where = { symbol: ['ACME', 'BOLT'], venue: null, price: { '>=': 40, '<': 50 } }
 * ```
 */
export type Where<R = Row> = {
    readonly [Name in keyof R]?: unknown;
} | readonly Criterion[];
/** Which rows and columns. */
export interface SelectOptions<R = Row> extends CallOptions {
    readonly where?: Where<R> | undefined;
    /** All by default. */
    readonly columns?: readonly (keyof R & string)[] | undefined;
    /** Names of columns; `-price` is descending. */
    readonly orderBy?: string | readonly string[] | undefined;
    readonly limit?: number | undefined;
    /** `next` of the page before. */
    readonly after?: string | undefined;
}
/** Options of an upload. */
export interface UploadOptions extends WriteOptions {
    /** Rows of a piece; 1,000 by default. */
    readonly rows?: number | undefined;
    /** Called after each piece. */
    readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}
/** How far an upload is. */
export interface UploadProgress {
    readonly rows: number;
    readonly pieces: number;
}
/**
 * A table by name.
 *
 * @example
 * ```ts
 * const trades = gate.table<Trade>('trades')
 * const { rows } = await trades.select({ where: { symbol: 'ACME' }, orderBy: '-executed_at', limit: 50 })
 * await trades.insert({ id: 9, symbol: 'ACME', price: '101.25' })
 * await trades.update({ id: 9 }, { price: '101.30' })
 * await trades.delete({ id: 9 })
 * ```
 */
export declare class Table<R = Row> {
    #private;
    constructor(http: Http, name: string);
    /** Rows by criteria, page by page if there are many: pass `next` as `after`. */
    select({ where, columns, orderBy, limit, after, signal }?: SelectOptions<R>): Promise<Result<R>>;
    /** All rows of all pages. */
    rows(options?: SelectOptions<R>): AsyncGenerator<R, void, undefined>;
    /** One row or several, all or none. The result has the rows with their defaults. */
    insert(rows: Partial<R> | readonly Partial<R>[], options?: WriteOptions): Promise<Result<R>>;
    /** Changes the rows that match. */
    update(where: Where<R>, assignments: Partial<R>, options?: WriteOptions): Promise<Result<R>>;
    /** Deletes the rows that match. */
    delete(where: Where<R>, options?: WriteOptions): Promise<Result<R>>;
    /**
     * Inserts any number of rows in pieces, each of which is inserted or not as a whole. Repeated with the same rows and the
     * same key it continues where it ended.
     *
     * @example
     * ```ts
     * await gate.table('trades').upload(readCsv(file), { idempotencyKey: file.name, onProgress: ({ rows }) => show(rows) })
     * ```
     */
    upload(rows: Iterable<Partial<R>> | AsyncIterable<Partial<R>>, { rows: size, idempotencyKey, onProgress, signal }?: UploadOptions): Promise<UploadProgress>;
}
/**
 * A table without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const trades = createTable<Trade>(new Http(url, { auth }), 'trades')
 * ```
 */
export declare function createTable<R = Row>(http: Http, name: string): Table<R>;
