/** The type of the built-in mails, and what else depends on their language. */
import type { MailKind } from '../../store/mail/kinds.ts'

export type MailTexts = Readonly<Record<MailKind, string>>
