export { Dataset, type DatasetParts } from './dataset';
export { DatasetError, type DatasetErrorCode } from './dataset-error';
export { DatasetSpec, disjointSelections, Selection } from './dataset-spec';
export { readIdx, type IdxArray } from './idx/idx';
export { loadDataset } from './load-dataset';
export { permutation } from './selection/permutation';
