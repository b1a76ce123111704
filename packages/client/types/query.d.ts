import { type Http, type Search } from './http.ts';
import { type LicenceLabel } from './licence-labels.ts';
import type { Part, Statement } from './statement.ts';
import type { Column } from './values.ts';
/** A row whose columns are not known to the compiler. */
export type Row = Record<string, unknown>;
/** Options of every call. */
export interface CallOptions {
    /** Ends the request; the server stops the query too. */
    readonly signal?: AbortSignal | undefined;
}
/** Options of a statement or call that writes. */
export interface WriteOptions extends CallOptions {
    /**
     * The write is made once, however often it is sent with this key. Calls on a table generate a key by default, so
     * that a retry after a lost reply does not write twice; give one to make a repetition by your program safe as well. A statement
     * that writes is retried only with a key.
     */
    readonly idempotencyKey?: string | undefined;
}
/** Options of one request of a query. */
export interface QueryOptions extends CallOptions {
    /** More of the query string, as docs/query.md lists it: `{ rows: 'arrays', 'p.symbol': 'ACME' }`. */
    readonly search?: Search | undefined;
}
/** What the server says about a result. */
export interface Result<R> {
    readonly columns: readonly Column[];
    readonly rows: R[];
    /** For statements that write. */
    readonly rowsAffected: number | undefined;
    /** The service has a limit of rows for one result, and there are more. */
    readonly truncated: boolean;
    /** Where the next page begins, if there is one. */
    readonly next: string | undefined;
    /** What is delayed, or left out; nothing: all rows are here, as they are now. */
    readonly licences: readonly LicenceLabel[];
    /** Milliseconds on the server. */
    readonly elapsed: number;
    readonly requestId: string;
}
/** A result that is read as it arrives. */
export interface Batches extends AsyncGenerator<unknown[][], void, undefined> {
    /** Known before the first row, and also if there is none. */
    readonly columns: readonly Column[];
    /** What is delayed, or left out. */
    readonly licences: readonly LicenceLabel[];
    readonly requestId: string;
}
/**
 * A statement that has not been sent yet. `await` it for its rows, or ask for another form.
 *
 * @example
 * ```ts
 * const rows = await gate.query<Trade>`select * from trades where symbol = ${symbol} limit 10`
 * for await (const row of gate.query<Trade>`select * from trades`.stream()) count(row)
 * const bytes = await gate.query`select * from trades`.arrow()
 * ```
 */
export declare class Query<R = Row> implements PromiseLike<R[]> {
    #private;
    constructor(http: Http, statement: Statement, options: WriteOptions);
    then<A = R[], B = never>(resolve?: ((rows: R[]) => A | PromiseLike<A>) | null, reject?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<A | B>;
    /** As of a promise: `await gate.query`…`.catch(() => [])`. */
    catch<B = never>(reject?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<R[] | B>;
    /** As of a promise: `act` runs when the query is over, however it ends. */
    finally(act?: (() => void) | null): Promise<R[]>;
    /** All rows. A result that the service truncates is an error: nothing is left out silently. */
    rows(options?: CallOptions): Promise<R[]>;
    /** The first row, or undefined. */
    first(options?: CallOptions): Promise<R | undefined>;
    /** Rows with their columns, and what the server says about them. `after` is `next` of the page before. */
    result(options?: QueryOptions & {
        readonly after?: string | undefined;
    }): Promise<Result<R>>;
    /** Row by row, as fast as they are read: of any number of rows only a few are in memory. */
    stream(options?: CallOptions): AsyncGenerator<R, void, undefined>;
    /** Rows as arrays, as many at a time as have arrived: for tables and charts of any size. Read them once. */
    batches(options?: CallOptions): Promise<Batches>;
    /** An Arrow stream, for apache-arrow, DuckDB or Perspective. */
    arrow(options?: CallOptions & ProgressOptions): Promise<Uint8Array>;
    /** CSV with a header line; an empty field is NULL, `""` is the empty text. */
    csv(options?: CallOptions & ProgressOptions): Promise<string>;
    /** The reply itself in any format of the service, to be stored or passed on piece by piece. */
    response(accept: string, { search, signal }?: QueryOptions): Promise<Response>;
    /** How the statement would be run. */
    explain(options?: CallOptions): Promise<Row[]>;
}
/** `gate.query`: a tag for statements. */
export interface QueryTag {
    <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]): Query<R>;
    <R = Row>(statement: Statement, options?: WriteOptions): Query<R>;
    (options: WriteOptions): <R = Row>(strings: TemplateStringsArray, ...values: readonly Part[]) => Query<R>;
}
/**
 * The tag `query` without the rest of `Gatehouse`.
 *
 * @example
 * ```ts
 * const query = createQuery(new Http(url, { auth }))
 * const [{ n }] = await query<{ n: number }>`select count(*) as n from trades`
 * ```
 */
export declare function createQuery(http: Http): QueryTag;
/** Reads the JSON of a result. An error after the first rows is in its last member. */
export declare function readResult<R>(http: Http, response: Response, statement?: string, signal?: AbortSignal): Promise<Result<R>>;
/** Options of a download. */
export interface ProgressOptions {
    /** Called as the bytes arrive. */
    readonly onProgress?: ((bytes: number) => void) | undefined;
}
/** The lines of a reply, as many at a time as have arrived. */
export declare function readLines(response: Response, signal: AbortSignal | undefined): AsyncGenerator<string[]>;
