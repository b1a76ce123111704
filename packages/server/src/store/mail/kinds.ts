/** The kinds of mail. */

/**
 * `link`: it carries a link. `anyone`: typing a name or an address is enough to cause it; such mails are counted separately, so that nobody can
 * use up what the others may take.
 */
export const MAIL_KINDS = {
  invitation: { link: true, anyone: false },
  reset: { link: true, anyone: false },
  'forgot-password': { link: true, anyone: true },
  verification: { link: true, anyone: true },
  'new-browser': { link: false, anyone: false },
  'password-changed': { link: false, anyone: false },
  'factor-added': { link: false, anyone: false },
  'factor-removed': { link: false, anyone: false },
  'address-changed': { link: false, anyone: false },
  'identity-linked': { link: false, anyone: false },
  'identity-unlinked': { link: false, anyone: false },
  'break-glass': { link: false, anyone: false },
  'licence-ending': { link: false, anyone: false },
  alert: { link: false, anyone: false },
} as const

export type MailKind = keyof typeof MAIL_KINDS

/** Those that tell a person what happened to the account. */
export type NoticeKind = Exclude<MailKind, 'invitation' | 'reset' | 'forgot-password' | 'verification' | 'alert'>

export function isMailKind(text: string): text is MailKind {
  return Object.hasOwn(MAIL_KINDS, text)
}

export function mailKinds(): MailKind[] {
  return Object.keys(MAIL_KINDS).filter(isMailKind)
}
