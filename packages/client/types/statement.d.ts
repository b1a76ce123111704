/** Statements by template tag: every value becomes a parameter, never a part of the text. */
import { type Value } from './values.ts';
/**
 * A statement, or a part of one, with its values: made by `sql` and `statement`.
 *
 * @example
 * ```ts
 * sql`symbol = ${'ACME'}`.compile() // { text: 'symbol = $1', parameters: ['ACME'] }
 * ```
 */
export declare class Statement {
    #private;
    readonly strings: readonly string[];
    readonly values: readonly unknown[];
    constructor(strings: readonly string[], values: readonly unknown[], given?: Given);
    /** The text with `$1`, `$2` … and the parameters in their order, or by name. */
    compile(): {
        text: string;
        parameters: Given;
    };
}
/** Parameters by their order, or by name. */
type Given = readonly unknown[] | Readonly<Record<string, unknown>>;
/** What can stand in `${…}`: a value, a list of values for `in (…)`, another statement, or a name. */
export type Part = Value | undefined | readonly Value[] | Statement;
/**
 * A part of a statement, to be put into another.
 *
 * @example
 * ```ts
 * const recent = sql`executed_at >= ${since}`
 * const rows = await gate.query`select * from trades where symbol in (${['ACME', 'BOLT']}) and ${recent}`
 * ```
 */
export declare function sql(strings: TemplateStringsArray, ...values: readonly Part[]): Statement;
/**
 * A name of a table or column that is known only at run time.
 *
 * @example
 * ```ts
 * await gate.query`select ${name(column)} from trades order by ${name(column)}`
 * ```
 */
export declare function name(text: string): Statement;
/**
 * A statement that a person wrote, such as the line of a shell; never build one from pieces.
 *
 * @example
 * ```ts
 * const rows = await gate.query(statement(line, { symbol: 'ACME' })) // :symbol in the text, or an array for $1, $2 …
 * ```
 */
export declare function statement(text: string, parameters?: Readonly<Record<string, Value>> | readonly Value[]): Statement;
/** A tag that makes something of a statement, and also takes options first or a finished statement. */
export declare function tagged<Options, Made>(make: (statement: Statement, options: Options) => Made, defaults: Options): (first: unknown, ...values: unknown[]) => unknown;
export {};
