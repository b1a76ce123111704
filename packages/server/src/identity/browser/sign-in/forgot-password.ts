/** The page for forgotten passwords. Whatever is typed, it queues one row and shows one text, so that it does not reveal whether a user exists. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { MailPort } from '../../../store/mail/notify.ts'
import { checkMailPage, forgotPasswordPage } from '../../pages/mail.ts'
import { type BrowserContext, formRoute, pageRoute } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { frameFor, sendPage } from '../page-reply.ts'

export function forgotPasswordRoutes(env: BrowserEnv, mail: MailPort): readonly Route[] {
  return [
    pageRoute('/forgot-password', (context) => show(context, env), env),
    formRoute('/forgot-password', 'browser', (context, form) => take(context, form, mail, env), env),
  ]
}

function show(context: BrowserContext, env: BrowserEnv, isMissing = false): void {
  const frame = frameFor(env.pages, context, { boundTo: 'browser' })
  const error = isMissing ? { text: frame.language.messages.required, field: 'username' } : undefined
  sendPage(context.http, forgotPasswordPage(frame, error), { status: isMissing ? 400 : 200 })
}

async function take(context: BrowserContext, form: FormParameters, mail: MailPort, env: BrowserEnv): Promise<void> {
  const typed = form.get('username')?.trim() ?? ''
  if (typed === '') return show(context, env, true)
  const frame = frameFor(env.pages, context)
  const { tag: language } = frame.language
  await env.revocations.inTransaction((_revocations, stores) =>
    mail.forgotPassword(stores, { typed, address: context.http.address, language }),
  )
  sendPage(context.http, checkMailPage(frame))
}
