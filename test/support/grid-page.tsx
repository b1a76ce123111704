/** The page of the grid tests: a grid, and its model where the test can reach it. */
import { render } from 'preact'
import { Grid } from '../../console/src/grid/grid.tsx'
import { GridModel } from '../../console/src/grid/model.ts'

Object.assign(globalThis, {
  GridModel,
  show(model: GridModel, editable?: Parameters<typeof Grid>[0]['editable']) {
    const root = document.querySelector('main')
    if (root !== null) render(<Grid model={model} label="Rows" editable={editable} />, root)
  },
})
