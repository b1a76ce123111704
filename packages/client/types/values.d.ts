/** How values are given. What is not set stays as it is described here. */
export interface ValueOptions {
    /**
     * Integers: `auto` is a number, or a bigint beyond 2^53, where a number would be wrong; `bigint` and `text` are always
     * that.
     */
    readonly integer?: 'auto' | 'bigint' | 'text' | undefined;
    /** Decimals: text with all digits, or what this function makes of the text: `(text) => new Big(text)`. */
    readonly decimal?: ((text: string) => unknown) | undefined;
    /** Timestamps: text in UTC, a `Date` (milliseconds only), or what this function makes: `Temporal.Instant.from`. */
    readonly timestamp?: 'text' | 'date' | ((text: string) => unknown) | undefined;
}
/** A column of a result, as the server describes it. */
export interface Column {
    readonly name: string;
    /** For example `Decimal(18, 4)`. */
    readonly type: string;
    readonly nullable: boolean;
}
export declare class Values {
    #private;
    constructor(options?: ValueOptions);
    /** JSON whose integers keep all their digits. */
    readonly parse: typeof parseExact;
    /** `Columns` of a reply, in order. */
    columns(description: unknown): Column[];
    /** Decodes a row in place, by names or by places; undefined when nothing has to be done. */
    decoder(columns: readonly Column[], isArray?: boolean): ((row: object) => void) | undefined;
}
/** Few texts contain such long numbers; JSON.parse reads all other texts. */
export declare function parseExact(text: string): unknown;
/** JSON in which bigints are numbers with all their digits, as `parseExact` reads them. */
export declare function writeExact(value: unknown): string;
/** What a parameter or a value to be written can be. */
export type Value = string | number | bigint | boolean | null | Date | Uint8Array | {
    toString(): string;
};
/**
 * A value as JSON carries it to the server, which reads texts by the type of their column: bigints and decimals stay
 * exact, a Date becomes a timestamp, bytes become Base64.
 */
export declare function encode(value: unknown): unknown;
/** The values of an object, encoded. */
export declare function encodeMembers(members: object): Record<string, unknown>;
