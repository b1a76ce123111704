/** Licences of market data: what the caller may see, agreements and trials. */
import { asObject } from './errors.ts'
import type { Http } from './http.ts'
import { lowerNames } from './licence-labels.ts'
import type { CallOptions } from './query.ts'

/** What the caller has of a product. */
export interface Licence {
  readonly product: string
  readonly access: 'none' | 'delayed' | 'realtime'
  /** Seconds. */
  readonly delay?: number
  readonly until?: string
  /** What gave the access: `user`, `client`, `trial`, `attribute`, `role`, `default`; or what is missing: `none`, `agreement` … */
  readonly reason: string
  readonly agreement?: {
    readonly id: string
    readonly version: string
    readonly title: string
    readonly url: string
    /** Whether people say if they are professionals when they accept it. */
    readonly asksStatus: boolean
    readonly accepted: boolean
    /** The version before counts until then. */
    readonly grace?: string
  }
  /** There is a trial; with `from` and `until` it has begun. */
  readonly trial?: { readonly days: number; readonly from?: string; readonly until?: string }
}

/** An agreement in the language of the caller. */
export interface LicenceAgreement {
  readonly id: string
  readonly version: string
  readonly title: string
  readonly asksStatus: boolean
  readonly language: string
  readonly text: string
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
export class Licences {
  readonly #http: Http

  constructor(http: Http) {
    this.#http = http
  }

  /** All products, with what the caller has of each, and why. */
  async list(options: CallOptions = {}): Promise<readonly Licence[]> {
    return lowerNames(asObject(await this.#http.json('/licences', options)).items) as readonly Licence[]
  }

  async agreement(id: string, options: CallOptions = {}): Promise<LicenceAgreement> {
    return lowerNames(await this.#http.json(agreementPath(id), options)) as LicenceAgreement
  }

  /** `professional` is needed where the agreement asks for it. */
  async accept(
    id: string,
    version: string,
    { professional, ...options }: CallOptions & { readonly professional?: boolean } = {},
  ): Promise<void> {
    const body = { Version: version, Professional: professional }
    await this.#http.json(agreementPath(id), { ...options, method: 'POST', body })
  }

  /** Once for each user and product, ever. */
  async beginTrial(product: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json(`/licences/${encodeURIComponent(product)}/trial`, { ...options, method: 'POST', body: {} })
  }
}

function agreementPath(id: string): string {
  return `/licences/agreements/${encodeURIComponent(id)}`
}
