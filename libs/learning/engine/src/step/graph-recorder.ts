import * as tf from '@tensorflow/tfjs-core';

import { EngineError } from '../errors';
import { type OperationAttribute, type TensorflowBackend } from '../backend/tensorflow-backend';
import { type GraphBuilder } from './graph-builder';
import { inTensorScope } from './tensor-scope';

/** A tensor that JavaScript made while a function was recorded: it is frozen into the graph. */
export interface FrozenConstant {
  shape: readonly number[];
  dtype: string;
  bytes: Uint8Array;
}

export interface Recording {
  /** Node outputs of the function's result, in its order. */
  outputs: string[];
  frozen: FrozenConstant[];
}

/**
 * Runs `work` once with the native backend and writes every operation that it runs into `graph`.
 *
 * @param named the tensors that stand for nodes which the graph already has
 * @throws EngineError `not-recordable` when the function reads a tensor's numbers: what it would do with them could not
 *   be repeated by the graph
 */
export function record(
  backend: TensorflowBackend,
  graph: GraphBuilder,
  named: readonly (readonly [tf.Tensor, string])[],
  work: () => readonly tf.Tensor[],
): Recording {
  const names = new Map<object, string>(named.map(([tensor, name]) => [tensor.dataId, name]));
  const frozen: FrozenConstant[] = [];

  const nameOf = (tensor: tf.TensorInfo): string => {
    const known = names.get(tensor.dataId);
    if (known) return known;
    const bytes = bytesOf(backend, tensor);
    const name = graph.constant(
      `constant_${frozen.length}`,
      dtypeOf(backend, tensor.dtype),
      tensor.shape,
      bytes,
    );
    frozen.push({ shape: tensor.shape, dtype: tensor.dtype, bytes });
    names.set(tensor.dataId, name);
    return name;
  };
  const write = (
    operation: string,
    attributes: readonly OperationAttribute[],
    inputs: readonly tf.TensorInfo[],
    results: readonly tf.Tensor[],
  ): void => {
    const complete = withInferredTypes(backend, operation, attributes, inputs);
    const name = graph.recorded(`n${graph.size}_${operation}`, operation, inputs.map(nameOf), complete);
    results.forEach((tensor, i) => names.set(tensor.dataId, i === 0 ? name : `${name}:${i}`));
  };

  const engine = tf.engine() as { readSync: (dataId: object) => unknown };
  const { executeSingleOutput, executeMultipleOutputs } = backend;
  const { readSync } = engine;
  backend.executeSingleOutput = (operation, attributes, inputs) => {
    const result = executeSingleOutput.call(backend, operation, attributes, inputs);
    write(operation, attributes, inputs, [result]);
    return result;
  };
  backend.executeMultipleOutputs = (operation, attributes, inputs, outputs) => {
    const results = executeMultipleOutputs.call(backend, operation, attributes, inputs, outputs);
    write(operation, attributes, inputs, results);
    return results;
  };
  engine.readSync = () => {
    throw new EngineError(
      'not-recordable',
      'the step reads the numbers of a tensor (dataSync, arraySync, print): the recorded graph could not repeat ' +
        'what is done with them; use tensor operations, or compile it with mode eager',
    );
  };
  try {
    return inTensorScope(() => ({ outputs: work().map(nameOf), frozen }));
  } finally {
    backend.executeSingleOutput = executeSingleOutput;
    backend.executeMultipleOutputs = executeMultipleOutputs;
    engine.readSync = readSync;
  }
}

/** Run eagerly, a type that is left out is taken from the inputs; in a graph it has to be written. */
function withInferredTypes(
  { binding }: TensorflowBackend,
  operation: string,
  attributes: readonly OperationAttribute[],
  inputs: readonly tf.TensorInfo[],
): readonly OperationAttribute[] {
  if (operation !== 'ExpandDims' || attributes.length > 0) return attributes;
  const types: Record<string, number> = {
    float32: binding.TF_FLOAT,
    int32: binding.TF_INT32,
    bool: binding.TF_BOOL,
  };
  return [
    { name: 'T', type: binding.TF_ATTR_TYPE, value: types[inputs[0].dtype] },
    { name: 'Tdim', type: binding.TF_ATTR_TYPE, value: binding.TF_INT32 },
  ];
}

function dtypeOf({ binding }: TensorflowBackend, dtype: tf.DataType): number {
  if (dtype === 'float32') return binding.TF_FLOAT;
  if (dtype === 'int32') return binding.TF_INT32;
  if (dtype === 'bool') return binding.TF_BOOL;
  throw new EngineError('not-recordable', `a constant of type ${dtype} can't be written into a graph`);
}

function bytesOf(backend: TensorflowBackend, { dataId }: tf.TensorInfo): Uint8Array {
  const values = backend.readSync(dataId) as Float32Array | Int32Array | Uint8Array;
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice();
}
