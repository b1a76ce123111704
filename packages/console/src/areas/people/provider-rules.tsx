/** The rows of a provider's form: which claims are required, and what claims give. */
import { useAttributes } from '../../admin/attributes.tsx'
import { Button, type Choice, IconButton, Select, TextField, useLoad } from '../../ui/index.ts'
import { ATTRIBUTE, type Requirement, ROLE, type Rule } from './provider-draft.ts'
import { loadRoles } from './role-choice.tsx'

export function Requirements({
  rows,
  onRows,
  error,
}: {
  readonly rows: readonly Requirement[]
  readonly onRows: (rows: readonly Requirement[]) => void
  readonly error: string | undefined
}) {
  const set = (index: number, part: Partial<Requirement>) =>
    onRows(rows.map((row, place) => (place === index ? { ...row, ...part } : row)))
  return (
    <fieldset class="choices">
      <legend>Requirements</legend>
      <p class="hint">Each claim must have one of its values, at every sign-in.</p>
      {rows.map(({ claim, values }, index) => (
        <fieldset key={index} class="item-row two">
          <legend class="visually-hidden">Requirement {index + 1}</legend>
          <TextField
            label="Claim"
            placeholder="groups"
            value={claim}
            onValue={(text) => set(index, { claim: text })}
            required={values !== ''}
          />
          <TextField
            label="One of the values"
            placeholder="gatehouse, traders"
            value={values}
            onValue={(text) => set(index, { values: text })}
            required={claim !== ''}
          />
          <IconButton
            icon="minus"
            label={`Remove requirement ${index + 1}`}
            onClick={() => onRows(rows.filter((_, place) => place !== index))}
          />
        </fieldset>
      ))}
      {error !== undefined && <p class="fault">{error}</p>}
      <div>
        <Button size="small" kind="plain" icon="plus" onClick={() => onRows([...rows, { claim: '', values: '' }])}>
          {rows.length === 0 ? 'Add a requirement' : 'Another requirement'}
        </Button>
      </div>
    </fieldset>
  )
}

export function Rules({
  rows,
  onRows,
  faults,
}: {
  readonly rows: readonly Rule[]
  readonly onRows: (rows: readonly Rule[]) => void
  readonly faults: ReadonlyMap<string, string> | undefined
}) {
  const { data: roles = [] } = useLoad(loadRoles, [])
  const { data: attributes = [] } = useAttributes()
  const known: readonly Choice[] = [
    ...roles.map(({ name }) => ({ value: ROLE + name, title: `Role ${name}` })),
    ...attributes.map(({ name }) => ({ value: ATTRIBUTE + name, title: `Attribute ${name}` })),
  ]
  const set = (index: number, part: Partial<Rule>) =>
    onRows(rows.map((row, place) => (place === index ? { ...row, ...part } : row)))
  return (
    <fieldset class="choices">
      <legend class="visually-hidden">Rules</legend>
      {rows.map(({ claim, value, gives }, index) => {
        const fault = (...members: readonly string[]) =>
          members.map((member) => faults?.get(`rules[${index}]${member}`)).find((text) => text !== undefined)
        const isAttribute = gives.startsWith(ATTRIBUTE)
        // A row that is empty altogether is left out.
        const isUsed = claim + value + gives !== ''
        return (
          <fieldset key={index} class="item-row">
            <legend class="visually-hidden">Rule {index + 1}</legend>
            <TextField
              label="Claim"
              placeholder="groups or /org/desk"
              value={claim}
              onValue={(text) => set(index, { claim: text })}
              error={fault('.claim', '')}
              required={isUsed}
            />
            <TextField
              label="Value"
              placeholder={isAttribute ? 'all its values' : 'traders'}
              value={isAttribute ? '' : value}
              onValue={(text) => set(index, { value: text })}
              error={fault('.value')}
              required={isUsed && !isAttribute}
              disabled={isAttribute}
            />
            <Select
              label="Gives"
              value={gives}
              onValue={(chosen) => set(index, { gives: chosen })}
              choices={[{ value: '', title: 'Choose…' }, ...withChosen(known, gives)]}
              error={fault('.role', '.attribute')}
              required={isUsed}
            />
            <IconButton
              icon="minus"
              label={`Remove rule ${index + 1}`}
              onClick={() => onRows(rows.filter((_, place) => place !== index))}
            />
          </fieldset>
        )
      })}
      <div>
        <Button
          size="small"
          kind="plain"
          icon="plus"
          onClick={() => onRows([...rows, { claim: '', value: '', gives: '' }])}
        >
          {rows.length === 0 ? 'Add a rule' : 'Another rule'}
        </Button>
      </div>
    </fieldset>
  )
}

/** A rule keeps what it gives while the lists load, and where they do not contain it. */
function withChosen(known: readonly Choice[], chosen: string): readonly Choice[] {
  const isListed = chosen === '' || known.some((choice) => typeof choice !== 'string' && choice.value === chosen)
  if (isListed) return known
  const title = chosen.startsWith(ROLE)
    ? `Role ${chosen.slice(ROLE.length)}`
    : `Attribute ${chosen.slice(ATTRIBUTE.length)}`
  return [...known, { value: chosen, title }]
}
