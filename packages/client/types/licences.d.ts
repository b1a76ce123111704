import type { Http } from './http.ts';
import type { CallOptions } from './query.ts';
/** What the caller has of a product. */
export interface Licence {
    readonly product: string;
    readonly access: 'none' | 'delayed' | 'realtime';
    /** Seconds. */
    readonly delay?: number;
    readonly until?: string;
    /** What gave the access: `user`, `client`, `trial`, `attribute`, `role`, `default`; or what is missing: `none`, `agreement` … */
    readonly reason: string;
    readonly agreement?: {
        readonly id: string;
        readonly version: string;
        readonly title: string;
        readonly url: string;
        /** Whether people say if they are professionals when they accept it. */
        readonly asksStatus: boolean;
        readonly accepted: boolean;
        /** The version before counts until then. */
        readonly grace?: string;
    };
    /** There is a trial; with `from` and `until` it has begun. */
    readonly trial?: {
        readonly days: number;
        readonly from?: string;
        readonly until?: string;
    };
}
/** An agreement in the language of the caller. */
export interface LicenceAgreement {
    readonly id: string;
    readonly version: string;
    readonly title: string;
    readonly asksStatus: boolean;
    readonly language: string;
    readonly text: string;
}
/**
 * `gate.licences`: what the caller may see of market data, and how to get more.
 *
 * @example
 * ```ts
 * for (const { product, access, reason } of await gate.licences.list()) console.log(product, access, reason)
 * const { version } = await gate.licences.agreement('nyse-subscriber')
 * await gate.licences.accept('nyse-subscriber', version, { professional: false })
 * ```
 */
export declare class Licences {
    #private;
    constructor(http: Http);
    /** All products, with what the caller has of each, and why. */
    list(options?: CallOptions): Promise<readonly Licence[]>;
    agreement(id: string, options?: CallOptions): Promise<LicenceAgreement>;
    /** `professional` is needed where the agreement asks for it. */
    accept(id: string, version: string, { professional, ...options }?: CallOptions & {
        readonly professional?: boolean;
    }): Promise<void>;
    /** Once for each user and product, ever. */
    beginTrial(product: string, options?: CallOptions): Promise<void>;
}
