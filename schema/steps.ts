import { initial } from './0001-initial.ts'
import type { SchemaStep } from './step.ts'

/** All steps, in the order in which they are applied. The number of a step is its place in this list, from 1. */
export const steps: readonly SchemaStep[] = [initial]
