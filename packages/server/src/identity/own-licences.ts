/** What people have of products of market data, as the account pages show it. */

export interface OwnLicences {
  /** Whether there are any products. */
  readonly hasProducts: boolean
  list(person: Person): Promise<{ readonly products: readonly OwnProduct[]; readonly places: readonly OwnPlace[] }>
  /** In the language that the person prefers (Accept-Language). Undefined if there is none with this id. */
  agreement(person: Person, id: string, languages: string): Promise<OwnAgreement | undefined>
  accept(person: Person, id: string, given: GivenAgreement, act: OwnAct): Promise<AcceptOutcome>
  /** False if the person cannot have one. */
  beginTrial(person: Person, product: string, act: OwnAct): Promise<boolean>
}

export interface Person {
  readonly userId: string
  readonly sessionId: string
}

export interface OwnProduct {
  readonly name: string
  readonly access: 'none' | 'delayed' | 'realtime'
  /** Milliseconds, where it is delayed. */
  readonly delay: number | undefined
  /** Milliseconds. */
  readonly until: number | undefined
  /** What gave the access, or what is missing. */
  readonly reason: string
  readonly agreement: Pick<OwnAgreement, 'id' | 'title' | 'isAccepted'> | undefined
  /** Of a trial that can begin, in milliseconds. */
  readonly trial: number | undefined
}

export interface OwnAgreement {
  readonly id: string
  readonly version: string
  readonly title: string
  readonly language: string
  readonly text: string
  readonly isAccepted: boolean
  readonly asksStatus: boolean
  /** What the person has declared; undefined: nothing. */
  readonly isProfessional: boolean | undefined
  /** An operator has set it. */
  readonly isStatusFixed: boolean
}

export interface OwnPlace {
  readonly product: string
  readonly access: 'delayed' | 'realtime'
  /** Milliseconds. */
  readonly since: number
  /** That of this browser. */
  readonly isOwn: boolean
}

export interface GivenAgreement {
  readonly version: string
  readonly professional: boolean | undefined
  readonly languages: string
}

export type AcceptOutcome = 'accepted' | 'other version' | 'status is missing' | 'unknown'

/** Who acts, for the audit log. */
export interface OwnAct {
  readonly client: string
  readonly address: string
  readonly requestId: string
}
