/** OAuth 2.0 Form Post Response Mode: a page that posts the response to the client, with a button in case scripts are off. */
import { createHash } from 'node:crypto'
import { hidden } from './form-parts.ts'
import { Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'

const SCRIPT = 'document.forms[0].submit()'

/** The CSP source for the inline script of this page. */
export const FORM_POST_SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`

export interface FormPostData {
  readonly action: string
  readonly parameters: Readonly<Record<string, string>>
  readonly client: string
}

export function formPostPage(frame: PageFrame, data: FormPostData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.formPost}</h1>
<p class="lead">${messages.formPostLead(data.client)}</p>
<form id="form-post" method="post" action="${data.action}">
${hidden(data.parameters)}
<div class="actions"><button type="submit" id="form-post-submit">${messages.continue}</button></div>
</form>`
  return page(frame, { title: messages.formPost, body, after: new Html(`<script>${SCRIPT}</script>\n`) })
}
