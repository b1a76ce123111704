/** The consent page of agents: who asks, and a checkbox for each right with the tables that it opens. */
import { errorSummary, hidden, scopeText, signedInUser } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export interface AgentConsentData {
  readonly flow: string
  /** What the agent calls itself. */
  readonly name: string
  /** Undefined for a program on the person's device. */
  readonly host: string | undefined
  /** Where it publishes its description. */
  readonly documentHost: string | undefined
  readonly returnsTo: string
  readonly username: string
  /** All that were asked for. */
  readonly scopes: readonly string[]
  readonly choices: readonly AgentChoice[]
  readonly isNothingChosen: boolean
  /** How long it stays connected, with and without use; 0: for this session only. */
  readonly days: { readonly lasting: number; readonly idle: number }
}

interface AgentChoice {
  readonly scope: string
  /** Undefined where it is not known. */
  readonly tables: { readonly names: readonly string[]; readonly others: number; readonly isMore: boolean } | undefined
}

export function agentConsentPage(frame: PageFrame, data: AgentConsentData): Html {
  const { messages } = frame.language
  const { host, days } = data
  const who = html`<span class="agent-host" id="agent-host">${host ?? messages.agentOnDevice}</span>`
  const error = data.isNothingChosen ? { text: messages.agentNothing, field: 'allow-0' } : undefined
  const body = html`
${errorSummary(frame, error)}<h1>${fill(messages.agentConsent, who)}</h1>
<p class="lead">${messages.agentName(data.name)} ${host === undefined && data.documentHost !== undefined && messages.agentDocument(data.documentHost)} ${messages.consentGoesTo(data.returnsTo)}.</p>
${host === undefined && html`<div class="notice warn" id="agent-warning">${icon('alert')}<div>${messages.agentDeviceWarning}</div></div>`}
${signedInUser(messages.signedInAs(data.username), data.username)}
<p>${messages.agentReads}</p>
<form id="consent" name="consent" method="post" action="${frame.base}/consent">
${hidden({ form_token: frame.formToken, flow: data.flow, scope: data.scopes.join(' ') })}
<ul class="scopes choices" id="scopes">${data.choices.map((choice, index) => choiceEntry(frame, choice, index))}</ul>
<div class="actions">
<button type="submit" id="consent-allow" name="decision" value="allow">${messages.allow}</button>
<button type="submit" class="plain" id="consent-deny" name="decision" value="deny">${messages.deny}</button>
</div>
</form>
<p class="hint secondary">${days.lasting > 0 && messages.agentLasts(days.lasting, days.idle)} ${messages.consentWithdraw}</p>`
  return page(frame, { title: messages.agentConsent(host ?? messages.agentOnDevice), body })
}

function choiceEntry(frame: PageFrame, { scope, tables }: AgentChoice, index: number): Html {
  const { messages } = frame.language
  return html`<li><input type="checkbox" id="allow-${index}" name="allow" value="${scope}" checked${tables !== undefined && html` aria-describedby="tables-${index}"`}>
<span><label for="allow-${index}">${scopeText(frame, scope)}</label>${tables !== undefined && html`<span class="tables" id="tables-${index}">${tables.names.length === 0 ? messages.agentNoTables : messages.agentTables(tables.names.join(', '), tables.others, tables.isMore)}</span>`}</span></li>`
}
