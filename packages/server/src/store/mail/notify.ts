/** The port through which other parts of the server queue mail, inside the transaction that causes it. Absent where no mail is set up. */
import type { Stores } from '../stores.ts'
import type { NoticeKind } from './kinds.ts'

/**
 * Something happened to the account of a user, who is notified at their verified address; without one nothing is queued. `break-glass` goes to
 * all administrators who have one instead.
 */
export interface Notice {
  readonly kind: NoticeKind
  readonly userId: string
  /** What was added, removed or linked: the label of a factor, the name of a provider. */
  readonly subject?: string | undefined
  /** The client address from which it was done; undefined where an operator did it. */
  readonly address?: string | undefined
  readonly userAgent?: string | undefined
  /** Milliseconds: when what the mail is about ends. */
  readonly endsAt?: number | undefined
  /** Another address than the current one of the user; it has been verified. */
  readonly to?: string | undefined
}

/** The stores of a transaction: the mail is queued if that commits. */
export type MailStores = Pick<Stores, 'mailQueue' | 'addressLinks' | 'setUpLinks' | 'users' | 'roles'>

export type Notify = (stores: MailStores, notice: Notice) => Promise<void>

/** A set-up link whose mail is queued. */
export interface MailedLink {
  readonly kind: 'invitation' | 'reset'
  readonly userId: string
  readonly to: string
  readonly token: string
  readonly expiresAt: number
}

/** A person typed something on the page for forgotten passwords. */
export interface ForgottenPassword {
  readonly typed: string
  readonly address: string
  readonly language: string
}

/** A person wants to use this address from now on. */
export interface NewAddress {
  readonly userId: string
  readonly to: string
  readonly address: string
  readonly language: string
}

/** What alerts tell a user. It is queued once, whatever happens after: the id is that of the delivery. */
export interface AlertMail {
  readonly id: string
  readonly userId: string
  readonly to: string
  readonly title: string
  /** Lines of plain text. */
  readonly text: string
  /** Where the alert is in the console; empty where there is none. */
  readonly url: string
}

/** What pages, administration and alerts queue. */
export interface MailPort {
  readonly notify: Notify
  sendLink(stores: MailStores, link: MailedLink): Promise<void>
  /** One row whatever was typed, unless too many were asked for; it is looked up later. */
  forgotPassword(stores: MailStores, typed: ForgottenPassword): Promise<void>
  /** False if it was queued before. */
  alert(stores: MailStores, mail: AlertMail): Promise<boolean>
  /** Makes a link and queues its mail, unless too many were asked for; it voids earlier ones of the user. */
  verifyAddress(stores: MailStores, wanted: NewAddress): Promise<void>
}
