/** Agreements that people accept before they use products of market data. */
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { closed, either, flag, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Agreement } from '../store/licences/products.ts'
import { DURATION_PATTERN } from './controller-names.ts'
import type { JsonObject, Resource, World } from './define-resource.ts'

export type DeclaredAgreement = XStatic<typeof AGREEMENT>

const AGREEMENT_ID = /^[A-Za-z0-9._-]{1,64}$/
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/
const LONGEST_TEXT = 65_536
const LONGEST_GRACE = 366 * 86_400_000
const MOST_NAMED = 20

const AGREEMENT = closed(['id', 'version', 'title', 'text'], {
  id: text({ pattern: AGREEMENT_ID.source, description: 'Such as nyse-subscriber. It stays.' }),
  version: text({ minLength: 1, maxLength: 64, description: 'Such as 2026-01. A new one must be accepted again.' }),
  title: words('What people see in lists.'),
  text: {
    type: 'object',
    propertyNames: { pattern: LANGUAGE.source },
    additionalProperties: either(
      text({ minLength: 1, maxLength: LONGEST_TEXT }),
      closed(['file'], {
        file: text({ minLength: 1, description: 'In a declarative file: the path of a file with the text.' }),
      }),
    ),
    minProperties: 1,
    maxProperties: 20,
    description: 'The text by language, such as {"en": "…"}.',
  },
  asks_status: flag('Whether people say if they are professionals when they accept it. Default: false.'),
  grace: text({
    pattern: DURATION.source,
    examples: ['14 days'],
    description: 'How long a version counts after another has replaced it, up to 366 days. Default: not at all.',
  }),
})

export const AGREEMENTS = {
  noun: 'agreement',
  section: 'agreements',
  key: 'id',
  scope: 'Platform/Admin',
  list: shortList(AGREEMENT, 'Agreements that people accept before they use products of market data.'),
  patterns: [
    [AGREEMENT_ID.source, 'must consist of 1 to 64 letters, digits and the characters . _ -'],
    [LANGUAGE.source, 'must be a language tag such as en or pt-BR'],
    DURATION_PATTERN,
  ],
  toItem: ({ id, version, title, text: texts, asks_status: asksStatus = false, grace = '' }, before) => ({
    ...{ id, version, title, asksStatus },
    text: Object.fromEntries(Object.entries(texts).map(([language, each]) => [language, String(each)])),
    grace: readDuration(grace) ?? 0,
    replaced: before?.replaced ?? [],
  }),
  present: (agreement) => ({ ...declareAgreement(agreement), asks_status: agreement.asksStatus }),
  declare: declareAgreement,
  compare: (agreement) => declareAgreement(agreement),
  namedScopes: 'none',
  faults: agreementFaults,
  requestFaults: ({ text: texts }) =>
    Object.entries(texts).flatMap(([language, each]) =>
      typeof each === 'string' ? [] : [{ path: `text.${language}`, text: 'must be the text itself' }],
    ),
  readFiles: ({ text: texts, ...rest }, read) => ({
    ...rest,
    text: Object.fromEntries(
      Object.entries(texts).map(([language, each]) => [
        language,
        typeof each === 'string' ? each : read(`text.${language}`, each.file),
      ]),
    ),
  }),
  refusal: refuseUsed,
  isNewerThanNodes: () => true,
  store: ({ licences }) => licences.agreements,
  changedEvent: 'licences-changed',
  isExportedIfAny: true,
  auditDetails: ({ version }) => ({ version }),
  routes: {
    list: 'Lists agreements page by page, ordered by id, with their texts.',
    pages: { things: 'Agreements' },
    create: 'Declares an agreement.',
    show: 'Shows an agreement.',
    change: 'Changes an agreement (JSON merge patch). With a new version it must be accepted again.',
    remove: 'Removes an agreement, unless products name it. What has been accepted stays in the audit log.',
    instead: 'declare another agreement',
  },
  commands: {
    argument: 'AGREEMENT',
    options: {
      '--version': { value: 'VERSION', help: 'such as 2026-01; a new one must be accepted again' },
      '--title': { value: 'TEXT', help: 'what people see in lists' },
      '--asks-status': { value: 'true|false', help: 'whether people say if they are professionals' },
      '--grace': { value: 'TIME', help: 'how long a replaced version counts, such as "14 days"' },
      '--text': { isRead: true, value: 'LANGUAGE=FILE', repeatable: true, help: 'a file with the text; repeatable' },
    },
    columns: ['id', 'version', 'title', 'asks_status', 'grace'],
    list: { summary: 'Lists agreements on market data.', examples: ['agreement list'] },
    show: { summary: 'Shows an agreement with its texts.', examples: ['agreement show nyse-subscriber'] },
    add: {
      summary: 'Declares an agreement, which products name.',
      examples: [
        'agreement add nyse-subscriber --version 2026-01 --title "NYSE subscriber agreement" --text en=nyse.en.md --asks-status true',
      ],
    },
    set: {
      summary: 'Changes an agreement; a new version must be accepted again.',
      examples: ['agreement set nyse-subscriber --version 2027-01 --text en=nyse.en.md'],
    },
    remove: {
      summary: 'Removes an agreement that no product names.',
      examples: ['agreement remove nyse-subscriber --yes'],
      confirm: (agreement) => `Remove the agreement ${agreement}?`,
      done: (agreement) => `The agreement ${agreement} was removed.`,
    },
  },
} as const satisfies Resource<Agreement, DeclaredAgreement>

function agreementFaults({ grace = '' }: DeclaredAgreement): Fault[] {
  return (readDuration(grace) ?? 0) > LONGEST_GRACE
    ? [{ path: 'grace', text: `must be at most ${writeDuration(LONGEST_GRACE)}` }]
    : []
}

async function refuseUsed(
  { id }: Agreement,
  after: Agreement | undefined,
  { stores }: Pick<World, 'stores'>,
): Promise<string | undefined> {
  if (after !== undefined) return undefined
  const products = (await stores.licences.products.list()).filter(({ agreement }) => agreement === id)
  if (products.length === 0) return undefined
  const named = products.slice(0, MOST_NAMED).map(({ name }) => name)
  return `The agreement ${id} is named by the products ${named.join(', ')}: change these first`
}

function declareAgreement({ id, version, title, text: texts, asksStatus, grace }: Agreement): JsonObject {
  return {
    ...{ id, version, title, text: texts },
    ...(asksStatus && { asks_status: true }),
    ...(grace > 0 && { grace: writeDuration(grace) }),
  }
}
