import * as tf from '@tensorflow/tfjs-core';

/** An attribute of a TensorFlow operation, as tfjs-node writes it. */
export interface OperationAttribute {
  name: string;
  type: number;
  value: boolean | number | string | number[] | object;
}

export interface TensorMetadata {
  id: number;
  shape: number[];
  dtype: number;
}

/** The part of tfjs-node's native binding that the engine uses. */
export interface TensorflowBinding {
  createTensor(shape: readonly number[], dtype: number, values: Float32Array | Int32Array): number;
  deleteTensor(id: number): void;
  tensorDataSync(id: number): Float32Array | Int32Array | Uint8Array;
  loadSavedModel(folder: string, tags: string): number;
  deleteSavedModel(id: number): void;
  runSavedModel(id: number, inputs: number[], inputNames: string, outputNames: string): TensorMetadata[];
  TF_FLOAT: number;
  TF_INT32: number;
  TF_BOOL: number;
  TF_ATTR_STRING: number;
  TF_ATTR_INT: number;
  TF_ATTR_FLOAT: number;
  TF_ATTR_BOOL: number;
  TF_ATTR_TYPE: number;
  TF_ATTR_SHAPE: number;
  TF_Version: string;
}

/** tfjs-node's backend: any TensorFlow operation can be run by its name. */
export interface TensorflowBackend extends tf.KernelBackend {
  readonly binding: TensorflowBinding;
  executeSingleOutput(name: string, attributes: OperationAttribute[], inputs: tf.TensorInfo[]): tf.Tensor;
  executeMultipleOutputs(
    name: string,
    attributes: OperationAttribute[],
    inputs: tf.TensorInfo[],
    outputs: number,
  ): tf.Tensor[];
}

/** The native backend where it is the active one. */
export function tensorflowBackend(): TensorflowBackend | undefined {
  return tf.getBackend() === 'tensorflow' ? (tf.backend() as TensorflowBackend) : undefined;
}

/** Runs one native operation on float32 tensors. */
export function nativeOperation<T extends tf.Tensor>(
  backend: TensorflowBackend,
  name: string,
  inputs: tf.Tensor[],
  flags: Record<string, boolean> = {},
): T {
  const { binding } = backend;
  const attributes: OperationAttribute[] = [
    { name: 'T', type: binding.TF_ATTR_TYPE, value: binding.TF_FLOAT },
    ...Object.entries(flags).map(([flag, value]) => ({ name: flag, type: binding.TF_ATTR_BOOL, value })),
  ];
  return backend.executeSingleOutput(name, attributes, inputs) as T;
}
