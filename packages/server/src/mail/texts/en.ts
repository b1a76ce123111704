/** The mails in English. The first line is the subject. */
import type { MailTexts } from './texts.ts'

export const en: MailTexts = {
  invitation: `Subject: Your account at {{brand}}

Hello {{name}},

an account has been created for you at {{brand}}. Your username is {{username}}. Choose a password to begin:

{{link}}

The link works once, until {{expires}}. If you did not expect this mail, contact {{contact}}.`,
  reset: `Subject: Choose a new password for {{brand}}

Hello {{name}},

an administrator has sent you this link, with which you choose a new password for {{username}}:

{{link}}

The link works once, until {{expires}}. If you did not expect this mail, contact {{contact}}.`,
  'forgot-password': `Subject: Choose a new password for {{brand}}

Hello {{name}},

somebody has asked for a new password for {{username}}. If it was you, choose one here:

{{link}}

The link works once, until {{expires}}. If it was not you, ignore this mail: your password stays as it is.`,
  verification: `Subject: Confirm your email address for {{brand}}

Somebody has entered this address for the account {{username}} at {{brand}}. If it was you, confirm it here:

{{link}}

The link works once, until {{expires}}. If it was not you, ignore this mail: the address is not used.`,
  'new-browser': `Subject: New sign-in to {{brand}}

Hello {{name}},

your account {{username}} has been used in a browser in which you have not signed in during the last 90 days.

{{time}}
{{origin}}

If it was you, you need not do anything. Otherwise change your password at once and contact {{contact}}.`,
  'password-changed': `Subject: Your password for {{brand}} has been changed

Hello {{name}},

the password of your account {{username}} has been changed.

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'factor-added': `Subject: Two-step verification for {{brand}}: a method was added

Hello {{name}},

a method of two-step verification has been added to your account {{username}}: {{subject}}

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'factor-removed': `Subject: Two-step verification for {{brand}}: a method was removed

Hello {{name}},

a method of two-step verification has been removed from your account {{username}}: {{subject}}

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'address-changed': `Subject: Your email address for {{brand}} has been changed

Hello {{name}},

your account {{username}} now has another email address. Mail about it is no longer sent to this one.

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'identity-linked': `Subject: Another way to sign in to {{brand}}

Hello {{name}},

your account {{username}} can now also be used by signing in with {{subject}}.

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'identity-unlinked': `Subject: A way to sign in to {{brand}} was removed

Hello {{name}},

your account {{username}} can no longer be used by signing in with {{subject}}.

{{time}}
{{origin}}

If it was not you, contact {{contact}} at once.`,
  'break-glass': `Subject: Emergency sign-in to {{brand}}

Hello {{name}},

{{subject}} has signed in with the password of an emergency account.

{{time}}
{{origin}}

You get this mail as an administrator of {{brand}}. If nobody has told you of it, look into it at once.`,
  'licence-ending': `Subject: Your access to {{subject}} at {{brand}} ends

Hello {{name}},

the access of your account {{username}} to {{subject}} ends on {{expires}}. To keep it, contact {{contact}} before.`,
  alert: `Subject: {{subject}}

{{text}}

{{link}}

You get this mail because of an alert of {{username}} at {{brand}}.`,
}
