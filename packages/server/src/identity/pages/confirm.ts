/** The page that asks before something is lost. It names what, and works without scripts. */
import { hidden } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export interface ConfirmData {
  readonly title: string
  /** What will be lost. */
  readonly lead: string
  /** More about it. */
  readonly about?: Html
  /** The action of the form, and its values. */
  readonly path: string
  readonly values: Readonly<Record<string, string>>
  readonly submit: string
  /** Where "Cancel" leads. */
  readonly back: string
}

export function confirmPage(frame: PageFrame, data: ConfirmData): Html {
  const { base, formToken, language } = frame
  const body = html`
<div class="state bad">${icon('alert')}</div>
<h1>${data.title}</h1>
<p class="lead">${data.lead}</p>
${data.about}
<form id="confirm" method="post" action="${base}${data.path}">${hidden({ form_token: formToken, ...data.values })}
<div class="actions"><button type="submit" class="danger-filled" id="confirm-submit">${data.submit}</button>
<a class="button plain" id="confirm-cancel" href="${base}${data.back}">${language.messages.cancel}</a></div></form>`
  return page(frame, { title: data.title, body })
}
