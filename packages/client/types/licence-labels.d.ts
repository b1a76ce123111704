/** What results and subscriptions say of licences of market data. */
/** What is delayed in a result or subscription, or left out of it. */
export interface LicenceLabel {
    /** Undefined: what no product names. */
    readonly product?: string;
    readonly table?: string;
    readonly feed?: string;
    readonly access: 'delayed' | 'none';
    /** Seconds. */
    readonly delay?: number;
    /** Rows are as of this time, or a moment later. */
    readonly asOf?: string;
    /** The rows with these values of the column; `others`: with those that no product names. Without it, all rows. */
    readonly column?: string;
    readonly values?: readonly (string | number)[] | 'others';
    /** Of a feed; without it, all of the subscription. */
    readonly topics?: readonly string[];
}
/** The list `Licence` of a reply or message. */
export declare function readLabels(list?: unknown): readonly LicenceLabel[];
/** With the names of this library: `AsOf` is `asOf`. */
export declare function lowerNames(value: unknown): unknown;
