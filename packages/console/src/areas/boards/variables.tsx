/** The variables of a board: parameters of its tiles, such as a symbol, that have one value for the whole board. */
import { useEffect, useId, useState } from 'preact/hooks'
import type { Tile } from '../../../../client/src/index.ts'
import type { Choosing } from '../../grid/grid.tsx'
import type { GridModel, GridRow } from '../../grid/model.ts'
import type { TileResult } from './result.ts'

export type Values = ReadonlyMap<string, string>

/** The parameters of all tiles, each with the value that the tiles have in common; none if they differ. */
export function collectVariables(tiles: readonly Pick<Tile, 'parameters'>[]): ReadonlyMap<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  for (const { parameters = {} } of tiles)
    for (const [name, value] of Object.entries(parameters)) {
      const text = value === null ? undefined : String(value)
      found.set(name, found.has(name) && found.get(name) !== text ? undefined : text)
    }
  return found
}

/** A tile with the values of the board: in its parameters, and for `:name` in its title. */
export function withValues<T extends Pick<Tile, 'title' | 'parameters'>>(tile: T, values: Values): T {
  const { parameters } = tile
  if (parameters === undefined) return tile
  const own = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, values.get(name) ?? value]))
  const title = tile.title.replace(/:(\w+)/g, (text, name: string) =>
    Object.hasOwn(own, name) ? String(own[name]) : text,
  )
  return { ...tile, title, parameters: own }
}

/** In the address of the page: `p.symbol=ACME`. */
export function valuesIn(query: URLSearchParams): Values {
  return new Map(
    [...query].flatMap(([name, value]) => (name.startsWith('p.') ? [[name.slice(2), value] as const] : [])),
  )
}

/** Rows of tables can be chosen for it: their column of this name becomes the value of the variable. */
export interface RowChoice {
  /** The values that the board has now. */
  readonly values: Values
  readonly onValue: (name: string, value: string) => void
}

/** The values of all variables that have one: as chosen, or as the tiles have it. */
export function currentValues(variables: ReadonlyMap<string, string | undefined>, values: Values): Values {
  return new Map(
    [...variables].flatMap(([name, value]) => {
      const current = values.get(name) ?? value
      return current === undefined ? [] : [[name, current] as const]
    }),
  )
}

/** For a table with a column that has the name of a variable, unless the table itself depends on the variable. */
export function choosingIn(model: GridModel, parameters: Tile['parameters'], choice: RowChoice): Choosing | undefined {
  const columns = model.columns.map(({ name }) => name.toLowerCase())
  const found = [...choice.values].find(
    ([name]) => columns.includes(name.toLowerCase()) && !Object.hasOwn(parameters ?? {}, name),
  )
  if (found === undefined) return undefined
  const [name, current] = found
  const valueIn = (row: GridRow) => row[columns.indexOf(name.toLowerCase())]
  return {
    isChosen: (row) => String(valueIn(row)) === current,
    onRow(row) {
      const value = valueIn(row)
      if (value !== null && value !== undefined) choice.onValue(name, String(value))
    },
  }
}

export function VariableFields({
  variables,
  values,
  onValue,
}: {
  readonly variables: ReadonlyMap<string, string | undefined>
  readonly values: Values
  readonly onValue: (name: string, value: string) => void
}) {
  return (
    <>
      {[...variables].map(([name, value]) => (
        <VariableField
          key={name}
          name={name}
          value={values.get(name) ?? value ?? ''}
          onValue={(text) => onValue(name, text)}
        />
      ))}
    </>
  )
}

function VariableField({
  name,
  value,
  onValue,
}: {
  readonly name: string
  readonly value: string
  readonly onValue: (value: string) => void
}) {
  const id = useId()
  const [choices, setChoices] = useState<readonly string[]>([])
  return (
    <label class="board-variable">
      <span>{name}</span>
      <input
        type="text"
        list={id}
        value={value}
        placeholder="as each tile has it"
        autocomplete="off"
        spellcheck={false}
        onFocus={() => setChoices(shownValues(name))}
        onChange={(event) => onValue(event.currentTarget.value.trim())}
      />
      <datalist id={id}>
        {choices.map((choice) => (
          <option key={choice} value={choice} />
        ))}
      </datalist>
    </label>
  )
}

const shown = new Set<TileResult>()

/** Its rows are among the choices, while it is shown. */
export function useAsChoices(result: TileResult): void {
  useEffect(() => {
    shown.add(result)
    return () => {
      shown.delete(result)
    }
  }, [result])
}

const MOST_ROWS = 500

/** The values that tables and charts of the board show in a column of this name. */
function shownValues(name: string): readonly string[] {
  const found = new Set<string>()
  for (const { state } of shown) {
    const { model } = state.peek()
    const column = model?.columns.findIndex((one) => one.name.toLowerCase() === name.toLowerCase()) ?? -1
    if (model === undefined || column === -1) continue
    for (let row = 0; row < Math.min(model.size, MOST_ROWS); row++) found.add(String(model.row(row)[column]))
  }
  return [...found].sort()
}
