import { runTrainer } from '@undertone/jobs';
import { trainClassifier } from './train-classifier';

runTrainer(trainClassifier);
