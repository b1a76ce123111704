/** The mails in German. The first line is the subject. */
import type { MailTexts } from './texts.ts'

export const de: MailTexts = {
  invitation: `Subject: Ihr Konto bei {{brand}}

Guten Tag {{name}},

bei {{brand}} wurde ein Konto für Sie angelegt. Ihr Benutzername ist {{username}}. Wählen Sie ein Passwort, um zu beginnen:

{{link}}

Der Link gilt einmal, bis {{expires}}. Falls Sie diese E-Mail nicht erwartet haben, wenden Sie sich an {{contact}}.`,
  reset: `Subject: Neues Passwort für {{brand}} wählen

Guten Tag {{name}},

mit diesem Link, den Ihnen die Administration geschickt hat, wählen Sie ein neues Passwort für {{username}}:

{{link}}

Der Link gilt einmal, bis {{expires}}. Falls Sie diese E-Mail nicht erwartet haben, wenden Sie sich an {{contact}}.`,
  'forgot-password': `Subject: Neues Passwort für {{brand}} wählen

Guten Tag {{name}},

für {{username}} wurde ein neues Passwort angefordert. Wenn Sie das waren, wählen Sie es hier:

{{link}}

Der Link gilt einmal, bis {{expires}}. Wenn Sie es nicht waren, ignorieren Sie diese E-Mail: Ihr Passwort bleibt, wie es ist.`,
  verification: `Subject: E-Mail-Adresse für {{brand}} bestätigen

Diese Adresse wurde für das Konto {{username}} bei {{brand}} eingetragen. Wenn Sie das waren, bestätigen Sie sie hier:

{{link}}

Der Link gilt einmal, bis {{expires}}. Wenn Sie es nicht waren, ignorieren Sie diese E-Mail: Die Adresse wird nicht verwendet.`,
  'new-browser': `Subject: Neue Anmeldung bei {{brand}}

Guten Tag {{name}},

mit Ihrem Konto {{username}} wurde in einem Browser gearbeitet, in dem Sie sich in den letzten 90 Tagen nicht angemeldet haben.

{{time}}
{{origin}}

Wenn Sie das waren, müssen Sie nichts tun. Sonst ändern Sie sofort Ihr Passwort und wenden Sie sich an {{contact}}.`,
  'password-changed': `Subject: Ihr Passwort für {{brand}} wurde geändert

Guten Tag {{name}},

das Passwort Ihres Kontos {{username}} wurde geändert.

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'factor-added': `Subject: Anmeldung in zwei Schritten bei {{brand}}: Methode hinzugefügt

Guten Tag {{name}},

zu Ihrem Konto {{username}} wurde eine Methode für die Anmeldung in zwei Schritten hinzugefügt: {{subject}}

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'factor-removed': `Subject: Anmeldung in zwei Schritten bei {{brand}}: Methode entfernt

Guten Tag {{name}},

von Ihrem Konto {{username}} wurde eine Methode für die Anmeldung in zwei Schritten entfernt: {{subject}}

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'address-changed': `Subject: Ihre E-Mail-Adresse bei {{brand}} wurde geändert

Guten Tag {{name}},

Ihr Konto {{username}} hat jetzt eine andere E-Mail-Adresse. An diese hier wird nichts mehr geschickt, was es betrifft.

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'identity-linked': `Subject: Weitere Anmeldung bei {{brand}}

Guten Tag {{name}},

bei Ihrem Konto {{username}} kann man sich jetzt auch mit {{subject}} anmelden.

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'identity-unlinked': `Subject: Eine Anmeldung bei {{brand}} wurde entfernt

Guten Tag {{name}},

bei Ihrem Konto {{username}} kann man sich nicht mehr mit {{subject}} anmelden.

{{time}}
{{origin}}

Wenn Sie das nicht waren, wenden Sie sich sofort an {{contact}}.`,
  'break-glass': `Subject: Notfall-Anmeldung bei {{brand}}

Guten Tag {{name}},

{{subject}} hat sich mit dem Passwort eines Notfallkontos angemeldet.

{{time}}
{{origin}}

Sie erhalten diese E-Mail, weil Sie {{brand}} verwalten. Wenn Ihnen niemand davon gesagt hat, gehen Sie dem sofort nach.`,
  'licence-ending': `Subject: Ihr Zugang zu {{subject}} bei {{brand}} endet

Guten Tag {{name}},

der Zugang Ihres Kontos {{username}} zu {{subject}} endet am {{expires}}. Wenn Sie ihn behalten möchten, wenden Sie sich vorher an
{{contact}}.`,
  alert: `Subject: {{subject}}

{{text}}

{{link}}

Sie bekommen diese Mail wegen eines Alarms von {{username}} bei {{brand}}.`,
}
