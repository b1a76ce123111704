/** What people have of products, for the account pages: loaded when the first person looks at it. */
import { Refusal } from 'gatehouse-protocol'
import type { OwnLicences as Own, OwnProduct, Person } from '../identity/identity.ts'
import type { OwnLicences, Standing, SubjectFacts } from '../licences/licences.ts'

/** `open` is called for the first person. */
export function accountLicences(hasProducts: () => boolean, open: () => Promise<OwnLicences>): Own {
  async function read({ userId }: Person) {
    const own = await open()
    const facts = await own.facts({ kind: 'user', subject: userId, clientId: '' })
    return { own, facts }
  }
  return {
    get hasProducts() {
      return hasProducts()
    },

    async list(person) {
      const { own, facts } = await read(person)
      const [standings, places] = await Promise.all([own.standings(facts), own.places(facts, person.sessionId)])
      return { products: standings.map((standing) => presentStanding(standing, own, facts)), places }
    },

    async agreement(person, id, languages) {
      const { own, facts } = await read(person)
      const agreement = await own.findAgreement(id).catch(absent)
      if (agreement === undefined) return undefined
      const { version, title, asksStatus } = agreement
      const { language, text } = own.chooseText(agreement, languages)
      return {
        id,
        version,
        title,
        language,
        text,
        isAccepted: own.hasAccepted(agreement, facts),
        asksStatus,
        isProfessional: facts.status?.professional,
        isStatusFixed: facts.status?.setBy === 'operator',
      }
    },

    async accept(person, id, given, act) {
      const { own, facts } = await read(person)
      const agreement = await own.findAgreement(id).catch(absent)
      if (agreement === undefined) return 'unknown'
      if (given.version !== agreement.version) return 'other version'
      if (agreement.asksStatus && given.professional === undefined && facts.status?.setBy !== 'operator')
        return 'status is missing'
      await own.accept(facts.subject, agreement, given, { ...act, actor: person.userId })
      return 'accepted'
    },

    async beginTrial(person, product, act) {
      const { own, facts } = await read(person)
      try {
        await own.beginTrial(facts, product, { ...act, actor: person.userId })
        return true
      } catch (error) {
        if (error instanceof Refusal && error.code.startsWith('licence.')) return false
        throw error
      }
    },
  }
}

function absent(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

function presentStanding(
  { product, agreement, decision, trial }: Standing,
  own: OwnLicences,
  facts: SubjectFacts,
): OwnProduct {
  const { access, until, reason } = decision
  const canTry = product.enabled && trial === undefined && access !== 'realtime'
  return {
    name: product.name,
    access,
    until,
    reason,
    delay: access === 'delayed' ? product.delay : undefined,
    agreement: agreement && {
      id: agreement.id,
      title: agreement.title,
      isAccepted: own.hasAccepted(agreement, facts),
    },
    trial: canTry ? product.trial : undefined,
  }
}
