/** The bodies of webhooks: that of Standard Webhooks, a message of Slack, a card of Teams. */
import type { WebhookFormat } from '../../store/alerts/channels.ts'
import type { Notice } from '../notice.ts'

export function webhookBody(notice: Notice, format: WebhookFormat): string {
  switch (format) {
    case 'standard':
      return JSON.stringify({ type: notice.type, timestamp: notice.timestamp, data: notice.data })
    case 'slack':
      return JSON.stringify({ text: slackText(notice) })
    case 'teams':
      return JSON.stringify(teamsMessage(notice))
  }
}

function slackText({ data: { title, text, url } }: Notice): string {
  const link = url === '' ? '' : `\n<${escapeSlack(url)}|${escapeSlack('Open')}>`
  return `*${escapeSlack(title)}*${text === '' ? '' : `\n${escapeSlack(text)}`}${link}`
}

/** Slack reads these three characters as the beginning of a mention, a link or an entity. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Text runs, not text blocks: these would read Markdown. */
function teamsMessage({ data: { title, text, url } }: Notice): object {
  const run = (text: string, more: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...more }],
  })
  const content = {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.4',
    body: [run(title, { weight: 'Bolder' }), ...(text === '' ? [] : [run(text)])],
    ...(url !== '' && { actions: [{ type: 'Action.OpenUrl', title: 'Open', url }] }),
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  }
}
